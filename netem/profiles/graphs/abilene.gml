# The Abilene research network of the United States, February 2005: 11 cities, 14 links of OC-192c
# (9.953 Gbit/s). Source: www.internet2.edu/pubs/200502-IS-AN.pdf, as recorded in the Internet
# Topology Zoo (S. Knight et al., IEEE JSAC 29(9), 2011). Delays are computed from the coordinates:
# light in a straight fibre, so real ones are longer.
graph [
  label "Abilene"
  node [
    id 0
    label "New York"
    Latitude 40.71427
    Longitude -74.00597
  ]
  node [
    id 1
    label "Chicago"
    Latitude 41.85003
    Longitude -87.65005
  ]
  node [
    id 2
    label "Washington DC"
    Latitude 38.89511
    Longitude -77.03637
  ]
  node [
    id 3
    label "Seattle"
    Latitude 47.60621
    Longitude -122.33207
  ]
  node [
    id 4
    label "Sunnyvale"
    Latitude 37.36883
    Longitude -122.03635
  ]
  node [
    id 5
    label "Los Angeles"
    Latitude 34.05223
    Longitude -118.24368
  ]
  node [
    id 6
    label "Denver"
    Latitude 39.73915
    Longitude -104.9847
  ]
  node [
    id 7
    label "Kansas City"
    Latitude 39.11417
    Longitude -94.62746
  ]
  node [
    id 8
    label "Houston"
    Latitude 29.76328
    Longitude -95.36327
  ]
  node [
    id 9
    label "Atlanta"
    Latitude 33.749
    Longitude -84.38798
  ]
  node [
    id 10
    label "Indianapolis"
    Latitude 39.76838
    Longitude -86.15804
  ]
  edge [
    source 0
    target 1
    rate "9953mbit"
  ]
  edge [
    source 0
    target 2
    rate "9953mbit"
  ]
  edge [
    source 1
    target 10
    rate "9953mbit"
  ]
  edge [
    source 2
    target 9
    rate "9953mbit"
  ]
  edge [
    source 3
    target 4
    rate "9953mbit"
  ]
  edge [
    source 3
    target 6
    rate "9953mbit"
  ]
  edge [
    source 4
    target 5
    rate "9953mbit"
  ]
  edge [
    source 4
    target 6
    rate "9953mbit"
  ]
  edge [
    source 5
    target 8
    rate "9953mbit"
  ]
  edge [
    source 6
    target 7
    rate "9953mbit"
  ]
  edge [
    source 7
    target 8
    rate "9953mbit"
  ]
  edge [
    source 7
    target 10
    rate "9953mbit"
  ]
  edge [
    source 8
    target 9
    rate "9953mbit"
  ]
  edge [
    source 9
    target 10
    rate "9953mbit"
  ]
]
